"""What a campaign raises where it cannot be run."""


class CampaignImpossible(Exception):
    """This machine lacks what the campaign needs; the message says what."""
